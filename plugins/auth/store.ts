import { Failures, KnownAddress, Password, Session, Ticket } from './entities.ts'
import { Auth0001 } from './migrations/0001-auth.ts'

export const store = {
  entities: [Password, Session, KnownAddress, Failures, Ticket],
  migrations: [{ name: '0001-auth', class: Auth0001 }]
}
