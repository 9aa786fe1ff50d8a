import { Migration } from '@mikro-orm/migrations'

export class Rules0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "rules" (
      "id" varchar(26) not null primary key,
      "client_id" varchar(26) not null,
      "owner" varchar(32) not null,
      "placed_by_superadmin" boolean not null,
      "protocol" varchar(3) not null,
      "listen_from" int not null,
      "listen_to" int not null,
      "targets" ${json} not null,
      "prefer_ipv6" boolean not null,
      "fields" ${json} not null,
      "state" varchar(8) not null,
      "state_reason" varchar(64) null,
      "created_at" bigint not null,
      "updated_at" bigint not null,
      "state_changed_at" bigint not null,
      "activated_at" bigint null)`)
    this.addSql('create index "rules_owner_index" on "rules" ("owner")')
    this.addSql('create index "rules_client_id_listen_from_index" on "rules" ("client_id", "listen_from")')
  }
}
