import { Migration } from '@mikro-orm/migrations'

export class Audit0004 extends Migration {
  override up(): void {
    this.addSql(`create index "audit_entry_action_timestamp_id_index"
      on "audit_entry" ("action", "timestamp", "id")`)
    this.addSql(`create index "audit_entry_request_id_index" on "audit_entry" ("request_id")`)
  }
}
