import { Migration } from '@mikro-orm/migrations'

export class RateLimit0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "rate_limit_envelope" (
      "client_id" varchar(26) not null,
      "owner_id" varchar(32) not null,
      "limits" ${json} not null,
      "enforced" integer not null default false,
      "created_at" bigint not null,
      "updated_at" bigint not null,
      primary key ("client_id", "owner_id"))`)
    this.addSql('create index "rate_limit_envelope_owner_id_index" on "rate_limit_envelope" ("owner_id")')
  }
}
