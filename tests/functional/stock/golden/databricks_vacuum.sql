vacuum `main`.`alluvium`.`edits`
