import { Migration } from 'sluice/plugin'

export class Expiry0001 extends Migration {
  override up(): void {
    this.addSql(`create table "expiry" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "at" bigint not null)`)
    this.addSql('create index "expiry_at_index" on "expiry" ("at")')
  }
}
