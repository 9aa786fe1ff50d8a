import { Migration } from '@mikro-orm/migrations'

const max = Number.MAX_SAFE_INTEGER

/** Brings what agents reported before there were bounds within them. */
export class Traffic0002 extends Migration {
  override up(): void {
    this.addSql(`delete from "traffic_sample" where "ts" > cast(strftime('%s', 'now') as bigint) + 3600`)
    this.addSql(`update "traffic_sample" set "bytes_in" = min("bytes_in", ${max}), "bytes_out" = min("bytes_out", ${max})
      where max("bytes_in", "bytes_out") > ${max}`)
  }
}
