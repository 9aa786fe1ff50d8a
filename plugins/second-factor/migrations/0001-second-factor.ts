import { Migration } from '@mikro-orm/migrations'

export class SecondFactor0001 extends Migration {
  override up(): void {
    this.addSql(`create table "second_factor_totp" (
      "user_id" varchar(32) not null primary key,
      "secret" varchar(255) null,
      "pending_secret" varchar(255) null,
      "last_step" bigint not null)`)
    this.addSql(`create table "second_factor_recovery_code" (
      "id" varchar(64) not null primary key,
      "user_id" varchar(32) not null)`)
    this.addSql(
      'create index "second_factor_recovery_code_user_id_index" on "second_factor_recovery_code" ("user_id")'
    )
  }
}
