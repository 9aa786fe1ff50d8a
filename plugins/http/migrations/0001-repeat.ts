import { Migration } from '@mikro-orm/migrations'

export class Http0001 extends Migration {
  override up(): void {
    this.addSql(`create table "http_repeat" (
      "id" varchar(64) not null primary key,
      "principal" varchar(32) not null,
      "body_mac" varchar(64) not null,
      "resource_kind" varchar(32) not null,
      "resource_id" varchar(255) not null,
      "status" int null,
      "answer" text null,
      "created_at" bigint not null)`)
    this.addSql(
      'create index "http_repeat_principal_created_at_index" on "http_repeat" ("principal", "created_at")'
    )
  }
}
