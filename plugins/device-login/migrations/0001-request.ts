import { Migration } from '@mikro-orm/migrations'

export class Request0001 extends Migration {
  override up(): void {
    this.addSql(`create table "device_login_request" (
      "id" varchar(26) not null primary key,
      "device_hash" varchar(64) not null,
      "user_code" varchar(8) not null,
      "label" varchar(255) not null,
      "scopes" text null,
      "remote_addr" varchar(45) not null,
      "network" varchar(64) not null,
      "expires_at" bigint not null,
      "decision" varchar(8) null,
      "user_id" varchar(32) null,
      "credential_id" varchar(26) null)`)
    this.addSql(
      'create unique index "device_login_request_device_hash_unique" on "device_login_request" ("device_hash")'
    )
    this.addSql(
      'create unique index "device_login_request_user_code_unique" on "device_login_request" ("user_code")'
    )
  }
}
