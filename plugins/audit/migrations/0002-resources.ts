import { Migration } from '@mikro-orm/migrations'

export class Audit0002 extends Migration {
  override up(): void {
    this.addSql('alter table "audit_entry" add column "resource_name" varchar(63) null')
    this.addSql(`create index "audit_entry_resource_id_timestamp_id_index"
      on "audit_entry" ("resource_id", "timestamp", "id")`)
    this.addSql(`create index "audit_entry_resource_name_timestamp_id_index"
      on "audit_entry" ("resource_name", "timestamp", "id")`)
  }
}
