import { Migration } from '@mikro-orm/migrations'

export class Servers0001 extends Migration {
  override up(): void {
    this.addSql(`create table "servers_server" (
      "boot" varchar(32) not null primary key,
      "server_id" varchar(64) not null,
      "version" varchar(64) not null,
      "started_at" bigint not null,
      "seen_at" bigint not null,
      "closing_migrations" text not null)`)
    this.addSql(`create table "servers_task" (
      "name" varchar(64) not null primary key,
      "boot" varchar(32) not null)`)
    this.addSql(`create table "servers_session" (
      "client_id" varchar(26) not null primary key,
      "session_id" varchar(26) not null,
      "boot" varchar(32) null,
      "epoch" bigint not null,
      "token_hash" varchar(64) not null,
      "instance_id" varchar(64) not null,
      "remote_addr" varchar(255) not null,
      "connected_at" bigint not null,
      "ending" varchar(64) null,
      "changed" bigint not null)`)
    this.addSql('create index "servers_session_changed_index" on "servers_session" ("changed")')
    this.addSql('create index "servers_session_boot_index" on "servers_session" ("boot")')
    this.addSql(`create table "servers_request" (
      "id" varchar(26) not null primary key,
      "requester" varchar(32) not null,
      "boot" varchar(32) null,
      "client_id" varchar(26) not null,
      "session_id" varchar(26) not null,
      "name" varchar(255) not null,
      "body" text not null,
      "answer" varchar(255) null,
      "deadline" bigint not null)`)
    this.addSql(`create table "servers_mirror" (
      "client_id" varchar(26) not null,
      "key" varchar(64) not null,
      "boot" varchar(32) not null,
      "value" text not null,
      "changed" bigint not null,
      primary key ("client_id", "key"))`)
    this.addSql('create index "servers_mirror_changed_index" on "servers_mirror" ("changed")')
    this.addSql(`create table "servers_result" (
      "client_id" varchar(26) not null,
      "kind" varchar(32) not null,
      "id" varchar(64) not null,
      "revision" bigint not null,
      "removal" varchar(5) null,
      "status" varchar(8) not null,
      "code" varchar(64) not null,
      "message" text not null,
      "at" bigint not null,
      primary key ("client_id", "kind", "id", "revision"))`)
  }
}
