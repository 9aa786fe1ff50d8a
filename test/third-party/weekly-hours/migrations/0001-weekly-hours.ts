import { Migration } from 'sluice/plugin'

export class WeeklyHours0001 extends Migration {
  override up(): void {
    this.addSql(`create table "weekly_hours" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "schedule" json not null)`)
  }
}
