import { Migration } from '@mikro-orm/migrations'

export class Kernel0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "kernel_user" (
      "id" varchar(32) not null primary key,
      "display_name" varchar(64) not null,
      "role" varchar(10) not null,
      "disabled" boolean not null,
      "kind" varchar(8) not null default 'user',
      "created_at" bigint not null)`)
    this.addSql(`create table "kernel_credential" (
      "id" varchar(26) not null primary key,
      "user_id" varchar(32) not null,
      "label" varchar(255) not null,
      "token_hash" varchar(64) not null,
      "created_at" bigint not null,
      "last_used_at" bigint null, "last_used_from" varchar(45) null,
      "expires_at" bigint null,
      "revoked_at" bigint null,
      "scopes" text null, "allowed_sources" text null)`)
    this.addSql('create index "kernel_credential_user_id_index" on "kernel_credential" ("user_id")')
    this.addSql(
      'create unique index "kernel_credential_token_hash_unique" on "kernel_credential" ("token_hash")'
    )
    this.addSql(`create table "kernel_client" (
      "id" varchar(26) not null primary key,
      "name" varchar(255) not null,
      "address" varchar(255) null,
      "token_hash" varchar(64) null,
      "agent_version" varchar(64) null,
      "capabilities" ${json} null,
      "revision" bigint not null,
      "enrolled_at" bigint not null,
      "connected_at" bigint null,
      "last_seen_at" bigint null,
      "revoked_at" bigint null,
      "changed" bigint not null default 0,
      "remote_addr" varchar(64) null)`)
    this.addSql('create index "kernel_client_address_index" on "kernel_client" ("address")')
    this.addSql('create index "kernel_client_remote_addr_index" on "kernel_client" ("remote_addr")')
    this.addSql('create index "kernel_client_changed_index" on "kernel_client" ("changed")')
    this.addSql('create index "kernel_client_name_index" on "kernel_client" ("name")')
    this.addSql('create unique index "kernel_client_token_hash_unique" on "kernel_client" ("token_hash")')
    this.addSql(`create table "kernel_spent_token" (
      "hash" varchar(64) not null primary key,
      "client_id" varchar(26) not null,
      "spent_at" bigint not null)`)
    this.addSql(`create table "kernel_managed_object" (
      "client_id" varchar(26) not null,
      "kind" varchar(32) not null,
      "id" varchar(64) not null,
      "revision" bigint not null,
      "removal" varchar(5) null,
      primary key ("client_id", "kind", "id"))`)
    this.addSql(
      'create index "kernel_managed_object_client_id_revision_index" on "kernel_managed_object" ("client_id", "revision")'
    )
    this.addSql(`create table "kernel_store_value" (
      "name" varchar(32) not null primary key,
      "value" varchar(255) not null)`)
  }
}
