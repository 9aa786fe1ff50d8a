import { Migration } from '@mikro-orm/migrations'

export class Schedule0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "schedule" (
      "rule_id" varchar(26) not null primary key references "rules" ("id") on update cascade on delete cascade,
      "not_before" bigint null,
      "expires_at" bigint null,
      "schedule" ${json} null,
      "at_end" varchar(5) null)`)
    this.addSql('create index "schedule_expires_at_index" on "schedule" ("expires_at")')
  }
}
