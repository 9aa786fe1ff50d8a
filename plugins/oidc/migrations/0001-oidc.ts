import { Migration } from '@mikro-orm/migrations'

export class Oidc0001 extends Migration {
  override up(): void {
    this.addSql(`create table "oidc_identity" (
      "id" varchar(26) not null primary key,
      "subject_hash" varchar(64) not null,
      "user_id" varchar(32) not null,
      "provider" varchar(32) not null,
      "issuer" varchar(512) not null,
      "sub" varchar(255) not null,
      "created_at" bigint not null,
      "last_used_at" bigint null)`)
    this.addSql('create unique index "oidc_identity_subject_hash_unique" on "oidc_identity" ("subject_hash")')
    this.addSql('create index "oidc_identity_user_id_index" on "oidc_identity" ("user_id")')
    this.addSql(`create table "oidc_used_state" (
      "id" varchar(64) not null primary key,
      "network" varchar(64) not null,
      "expires_at" bigint not null)`)
    this.addSql('create index "oidc_used_state_network_index" on "oidc_used_state" ("network")')
  }
}
