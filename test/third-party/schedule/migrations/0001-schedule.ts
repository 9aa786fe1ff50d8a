import { Migration } from 'sluice/plugin'

export class Schedule0001 extends Migration {
  override up(): void {
    this.addSql(`create table "schedule" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "schedule" json not null)`)
  }
}
