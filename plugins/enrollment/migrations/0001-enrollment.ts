import { Migration } from '@mikro-orm/migrations'

export class Enrollment0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "enrollment" (
      "id" varchar(26) not null primary key,
      "code_hash" varchar(64) not null,
      "pin" varchar(64) not null,
      "client_id" varchar(26) null,
      "name" varchar(255) not null,
      "address" varchar(255) null,
      "endpoint" varchar(255) null,
      "created_by" varchar(32) not null,
      "created_at" bigint not null,
      "expires_at" bigint not null,
      "used_at" bigint null,
      "token_hash" varchar(64) null,
      "fields" ${json} null)`)
    this.addSql('create unique index "enrollment_code_hash_unique" on "enrollment" ("code_hash")')
    this.addSql('create index "enrollment_client_id_index" on "enrollment" ("client_id")')
    this.addSql(`create table "enrollment_key" (
      "id" varchar(26) not null primary key,
      "key_hash" varchar(64) not null,
      "pin" varchar(64) not null,
      "label" varchar(255) not null,
      "max_uses" int null,
      "used" int not null,
      "is_address_auto" boolean not null,
      "is_approval_needed" boolean not null,
      "ephemeral_secs" int null,
      "fields" ${json} null,
      "created_by" varchar(32) not null,
      "created_at" bigint not null,
      "expires_at" bigint null)`)
    this.addSql('create unique index "enrollment_key_key_hash_unique" on "enrollment_key" ("key_hash")')
  }
}
