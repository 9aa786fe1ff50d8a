import { Migration } from '@mikro-orm/migrations'

export class Stats0004 extends Migration {
  override up(): void {
    this.addSql('alter table "stats_epoch" add column "whole" bigint not null default 0')
    this.addSql('update "stats_epoch" set "whole" = "seq"')
  }
}
