import { Migration } from '@mikro-orm/migrations'

export class Clients0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "clients_instance_conflict" (
      "client_id" varchar(26) not null primary key,
      "since" bigint not null,
      "seen_at" bigint not null,
      "remote_addrs" ${json} not null)`)
    this.addSql(`create table "clients_admission" (
      "client_id" varchar(26) not null primary key,
      "key_id" varchar(26) not null,
      "pending_since" bigint null,
      "ephemeral_secs" int null,
      "offline_since" bigint null,
      "last_session_at" bigint null)`)
    this.addSql('create index "clients_admission_key_id_index" on "clients_admission" ("key_id")')
    this.addSql(
      'create index "clients_admission_pending_since_index" on "clients_admission" ("pending_since")'
    )
  }
}
