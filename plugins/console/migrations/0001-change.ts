import { Migration } from '@mikro-orm/migrations'

export class Console0001 extends Migration {
  override up(): void {
    this.addSql(`create table "console_change" (
      "audience" varchar(32) not null primary key,
      "count" bigint not null,
      "changed_at" bigint not null)`)
    this.addSql('create index "console_change_changed_at_index" on "console_change" ("changed_at")')
  }
}
