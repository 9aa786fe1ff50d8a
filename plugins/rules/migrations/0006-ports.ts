import { Migration } from '@mikro-orm/migrations'

/** Finds who has a port, and counts the rules of a client and of its owners, without reading all of them. */
export class Rules0006 extends Migration {
  override up(): void {
    this.addSql(
      'create index "rules_range_index" on "rules" ("client_id", "listen_to") where listen_to > listen_from'
    )
    this.addSql('create index "rules_moved_index" on "rules" ("client_id") where moved_from is not null')
    this.addSql('create index "rules_client_id_owner_state_index" on "rules" ("client_id", "owner", "state")')
  }
}
