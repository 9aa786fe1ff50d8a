import { Migration } from '@mikro-orm/migrations'

export class Audit0001 extends Migration {
  override up(): void {
    const json = this.driver.getPlatform().getJsonDeclarationSQL()
    this.addSql(`create table "audit_entry" (
      "id" varchar(26) not null primary key,
      "timestamp" bigint not null,
      "actor" varchar(32) null,
      "role" varchar(10) null,
      "auth_method" varchar(16) not null,
      "remote_addr" varchar(64) null,
      "method" varchar(10) not null,
      "path" varchar(512) not null,
      "action" varchar(64) not null,
      "resource_kind" varchar(32) null,
      "resource_id" varchar(255) null,
      "resource_name" varchar(63) null,
      "outcome" varchar(5) not null,
      "status" int null,
      "reason" varchar(64) null,
      "request_id" varchar(64) not null,
      "count" bigint not null,
      "changes" ${json} null)`)
    this.addSql('create index "audit_entry_timestamp_id_index" on "audit_entry" ("timestamp", "id")')
    this.addSql(
      'create index "audit_entry_outcome_timestamp_id_index" on "audit_entry" ("outcome", "timestamp", "id")'
    )
    this.addSql(`create index "audit_entry_actor_outcome_timestamp_id_index"
      on "audit_entry" ("actor", "outcome", "timestamp", "id")`)
    this.addSql(`create index "audit_entry_action_timestamp_id_index"
      on "audit_entry" ("action", "timestamp", "id")`)
    this.addSql(`create index "audit_entry_request_id_index" on "audit_entry" ("request_id")`)
    this.addSql(`create index "audit_entry_resource_id_timestamp_id_index"
      on "audit_entry" ("resource_id", "timestamp", "id")`)
    this.addSql(`create index "audit_entry_resource_name_timestamp_id_index"
      on "audit_entry" ("resource_name", "timestamp", "id")`)
  }
}
