import { Migration } from '@mikro-orm/migrations'

export class Stats0003 extends Migration {
  override up(): void {
    this.addSql('alter table "stats_epoch" add column "minute" bigint not null default 0')
    this.addSql(`update "stats_epoch" set "minute" = (
      select coalesce(max(cast("key" as bigint)), 0) from "stats_row"
      where "stats_row"."client_id" = "stats_epoch"."client_id" and "stats_row"."epoch" = "stats_epoch"."epoch"
        and "kind" = 'minute')`)
  }
}
