import { Migration } from '@mikro-orm/migrations'

export class Control0004 extends Migration {
  override up(): void {
    this.addSql(`create table "control_certificate" (
      "name" varchar(4) not null primary key,
      "certificate" text not null,
      "key_id" varchar(16) not null,
      "sealed_key" text not null)`)
  }
}
