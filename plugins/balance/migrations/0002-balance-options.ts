import { Migration } from '@mikro-orm/migrations'

export class Balance0002 extends Migration {
  override up(): void {
    this.addSql(`create table "balance_options" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "slow_connect_ms" integer null,
      "slow_start_secs" integer null,
      "source_prefix" integer null)`)
  }
}
