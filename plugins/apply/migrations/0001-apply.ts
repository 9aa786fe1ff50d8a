import { Migration } from '@mikro-orm/migrations'

export class Apply0001 extends Migration {
  override up(): void {
    this.addSql(`create table "apply_lease" (
      "scope" varchar(32) not null primary key,
      "id" varchar(26) not null,
      "user_id" varchar(32) not null,
      "until" bigint not null)`)
  }
}
