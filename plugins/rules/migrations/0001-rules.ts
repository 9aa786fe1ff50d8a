import { Migration } from '@mikro-orm/migrations'

export class Rules0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "rules" (
      "id" varchar(26) not null primary key,
      "client_id" varchar(26) not null,
      "owner" varchar(32) not null,
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
      "activated_at" bigint null,
      "placed_by" varchar(32) not null default '',
      "former_targets" ${json} null,
      "paused" boolean not null default false,
      "before" ${json} null,
      "moved_from" int null,
      "moved_to" int null,
      "existing" varchar(5) null,
      "former_ports" ${json} null,
      "parent" varchar(26) null,
      "name" varchar(63) null,
      "description" varchar(255) null)`)
    // Find the rule that has a port, and count and page the rules of a client or an owner without reading all of them.
    this.addSql('create index "rules_client_id_listen_from_index" on "rules" ("client_id", "listen_from")')
    this.addSql(
      'create index "rules_range_index" on "rules" ("client_id", "listen_to") where listen_to > listen_from'
    )
    this.addSql('create index "rules_moved_index" on "rules" ("client_id") where moved_from is not null')
    this.addSql('create index "rules_client_id_owner_state_index" on "rules" ("client_id", "owner", "state")')
    this.addSql('create index "rules_owner_parent_id_index" on "rules" ("owner", "parent", "id")')
    this.addSql('create index "rules_placed_by_index" on "rules" ("placed_by")')
    this.addSql('create index "rules_parent_index" on "rules" ("parent")')
    // A draining rule frees its name, as it frees its port. A group rule itself is on no client; its members are.
    this.addSql(`create unique index "rules_name_unique" on "rules" ("client_id", "owner", "name")
      where name is not null and client_id <> '' and state <> 'draining'`)
    this.addSql('create index "rules_name_index" on "rules" ("name") where name is not null')
    this.addSql(`create table "rules_refused_member" (
      "parent" varchar(26) not null,
      "client_id" varchar(26) not null,
      "code" varchar(64) not null,
      primary key ("parent", "client_id"))`)
    this.addSql('create index "rules_refused_member_client_id_index" on "rules_refused_member" ("client_id")')
    this.addSql(`create table "rules_field_value" (
      "rule_id" varchar(26) not null references "rules" ("id") on delete cascade,
      "key" varchar(64) not null,
      "value" ${json} not null,
      primary key ("rule_id", "key"))`)
    this.addSql('create index "rules_field_value_rule_id_index" on "rules_field_value" ("rule_id")')
    this.addSql('create index "rules_field_value_key_index" on "rules_field_value" ("key")')
    this.#createDerivedParts(json)
  }

  #createDerivedParts(json: string): void {
    this.addSql(`create table "rules_derived_part" (
      "rule_id" varchar(26) not null references "rules" ("id") on delete cascade,
      "client_id" varchar(26) not null,
      "kind" varchar(64) not null,
      "owner" varchar(32) not null,
      "body" ${json} not null,
      "is_applied" boolean not null,
      "is_leaving" boolean not null,
      primary key ("rule_id", "client_id", "kind"))`)
    this.addSql('create index "rules_derived_part_rule_id_index" on "rules_derived_part" ("rule_id")')
    // Count the parts of an owner on a client, and find those of a client that is deleted.
    this.addSql(
      'create index "rules_derived_part_client_id_owner_index" on "rules_derived_part" ("client_id", "owner")'
    )
  }
}
