import { Migration } from '@mikro-orm/migrations'

export class RoleSource0001 extends Migration {
  override up(): void {
    this.addSql(`create table "users_role_source" (
      "user_id" varchar(32) not null primary key,
      "source" varchar(40) not null)`)
  }
}
