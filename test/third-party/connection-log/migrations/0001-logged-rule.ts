import { Migration } from 'sluice/plugin'

export class ConnectionLog0001 extends Migration {
  override up(): void {
    this.addSql(`create table "connection_log_rule" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade)`)
  }
}
