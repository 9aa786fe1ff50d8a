import { Migration } from '@mikro-orm/migrations'

export class Control0001 extends Migration {
  override up(): void {
    this.addSql(`create table "control_next_pin" (
      "client_id" varchar(26) not null primary key,
      "fingerprint" varchar(64) not null,
      "token_hash" varchar(64) not null)`)
  }
}
