import { Migration } from '@mikro-orm/migrations'

export class Certificate0001 extends Migration {
  override up(): void {
    this.addSql(`create table "certificate_next_pin" (
      "client_id" varchar(26) not null primary key,
      "fingerprint" varchar(64) not null,
      "token_hash" varchar(64) not null)`)
    this.addSql(`create table "certificate_sealed" (
      "name" varchar(4) not null primary key,
      "certificate" text not null,
      "key_id" varchar(16) not null,
      "sealed_key" text not null)`)
  }
}
