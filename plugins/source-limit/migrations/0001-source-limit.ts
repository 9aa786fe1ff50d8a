import { Migration } from '@mikro-orm/migrations'

export class SourceLimit0001 extends Migration {
  override up(): void {
    this.addSql(`create table "source_limit" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "connections" integer null,
      "new_connections" integer null,
      "within_secs" integer null)`)
  }
}
