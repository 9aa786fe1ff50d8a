import { Migration } from 'sluice/plugin'

export class LeastConnections0001 extends Migration {
  override up(): void {
    this.addSql(`create table "least_connections" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "weights" json not null)`)
  }
}
