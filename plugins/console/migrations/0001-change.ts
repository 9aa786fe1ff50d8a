import { Migration } from '@mikro-orm/migrations'

export class Console0001 extends Migration {
  override up(): void {
    this.addSql(`create table "console_change" (
      "whose" varchar(32) not null primary key,
      "number" bigint not null,
      "at" bigint not null)`)
  }
}
