select * from {{ alluvium._unseen_actions() }}
