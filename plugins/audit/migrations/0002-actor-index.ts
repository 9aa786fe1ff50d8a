import { Migration } from '@mikro-orm/migrations'

export class Audit0002 extends Migration {
  override up(): void {
    this.addSql(`create index "audit_entry_actor_outcome_timestamp_id_index"
      on "audit_entry" ("actor", "outcome", "timestamp", "id")`)
  }
}
