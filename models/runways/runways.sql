select * from {{ ref('runways_wap') }}
