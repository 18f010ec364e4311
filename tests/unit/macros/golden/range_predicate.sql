-- tinyint
(t.`c` between -128Y and 127Y or t.`c` = -128Y or t.`c` = 127Y)
-- smallint
(t.`c` between -1S and 300S or t.`c` = -1S or t.`c` = 300S)
-- int
(t.`c` = 0 or t.`c` = 0 or t.`c` = 0)
-- bigint
(t.`c` between -9223372036854775808L and 9223372036854775807L or t.`c` = -9223372036854775808L or t.`c` = 9223372036854775807L)
-- float
(t.`c` between -0.0F and 0.10000000149011612F or t.`c` between -0.0F and 0.0F or t.`c` = 0.10000000149011612F)
-- double
(t.`c` between cast('-inf' as double) and cast('inf' as double) or t.`c` = cast('-inf' as double) or t.`c` = cast('inf' as double))
-- decimal(10,2)
(t.`c` between -0.50BD and 12345678.90BD or t.`c` = -0.50BD or t.`c` = 12345678.90BD)
-- decimal(38,0)
(t.`c` between -99999999999999999999999999999999999999BD and 1000000000000010BD or t.`c` between -99999999999999999999999999999999999999BD and -99999999999999000000000000000000000009BD or t.`c` between 999999999999990BD and 1000000000000010BD)
-- decimal(38,38)
(t.`c` between 0.00000000000000000000000000000000000001BD and 0.99999999999999999999999999999999999999BD or t.`c` = 0.00000000000000000000000000000000000001BD or t.`c` between 0.99999999999999000000000000000000000009BD and 0.99999999999999999999999999999999999999BD)
-- date
(t.`c` between date'0001-01-01' and date'9999-12-31' or t.`c` = date'0001-01-01' or t.`c` = date'9999-12-31')
-- timestamp
(t.`c` between timestamp'2024-02-29 12:00:00.000001 UTC' and timestamp'2025-02-28 12:00:00.000001 UTC' or t.`c` = timestamp'2024-02-29 12:00:00.000001 UTC' or t.`c` = timestamp'2025-02-28 12:00:00.000001 UTC')
-- timestamp_ntz
(t.`c` = timestamp_ntz'2024-02-29 12:00:00.000001' or t.`c` = timestamp_ntz'2024-02-29 12:00:00.000001' or t.`c` = timestamp_ntz'2024-02-29 12:00:00.000001')
-- object id
(t.`c` between '65a1b2c3d4e5f60718293a4b' and '65a1b2c3d4e5f60718293a4c' or t.`c` = '65a1b2c3d4e5f60718293a4b' or t.`c` = '65a1b2c3d4e5f60718293a4c')
-- string
(t.`c` between cast(x'6974277320247b787d5c' as string) and cast(x'00f48fbfbff48fbfbf' as string) or t.`c` = cast(x'6974277320247b787d5c' as string) or t.`c` between cast(x'00' as string) and cast(x'00f48fbfbff48fbfbf' as string))
