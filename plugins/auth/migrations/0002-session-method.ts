import { Migration } from '@mikro-orm/migrations'

export class Auth0002 extends Migration {
  override up(): void {
    this.addSql(`alter table "auth_session" add column "method" varchar(16) not null default 'session'`)
  }
}
