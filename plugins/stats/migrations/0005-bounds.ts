import { Migration } from '@mikro-orm/migrations'

const columns = ['bytes_in', 'bytes_out', 'connections', 'dns_failures', 'failovers', 'rejected']
const allColumns = [...columns, 'datagrams_in', 'datagrams_out', 'overflows']
const bounded = allColumns.map(name => `"${name}" = max(0, min("${name}", ${Number.MAX_SAFE_INTEGER}))`)

/** Brings what agents reported before there were bounds within them. */
export class Stats0005 extends Migration {
  override up(): void {
    this.addSql(`delete from "stats_row" where "kind" in ('minute', 'hour')
      and cast("key" as bigint) > cast(strftime('%s', 'now') as bigint) + 3600`)
    this.addSql(`delete from "stats_total" where "kind" not in ('rule', 'port', 'target', 'rejected')`)
    this.addSql(`delete from "stats_total" where "kind" = 'rejected' and ("rule_id", "key") in (
      select "rule_id", "key" from (
        select "rule_id", "key", row_number() over (partition by "rule_id" order by "rejected" desc) as "rank"
        from "stats_total" where "kind" = 'rejected')
      where "rank" > 32)`)
    for (const table of ['stats_row', 'stats_total'])
      this.addSql(`update "${table}" set ${bounded}
        where max(${allColumns.join(', ')}) > ${Number.MAX_SAFE_INTEGER} or min(${allColumns.join(', ')}) < 0`)
  }
}
