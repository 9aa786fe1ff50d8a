import { type Static, Type } from 'typebox'
import { closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'

const Name = Type.String({ description: 'Name of the provider.', examples: ['corp'] })

export const ProviderParams = closed({ name: Name })

export const ProviderList = closed({
  password: Type.Boolean({ description: 'A password can sign in.' }),
  passkey: Type.Boolean({ description: 'A passkey can sign in.', examples: [false] }),
  providers: Type.Array(
    closed({
      name: Name,
      title: Type.String({ description: 'Text of the button.', examples: ['Corporate login'] })
    }),
    { description: 'In the order of their names.' }
  )
})

const ReturnTo = Type.Optional(
  Type.String({
    maxLength: 1024,
    description: 'Path of this origin to go to afterwards. Default: /.',
    examples: ['/rules']
  })
)
const Reauthenticate = Type.Optional(
  Type.Boolean({ description: 'Makes the session fresh, instead of signing in.', examples: [false] })
)

export const StartQuery = closed({ return_to: ReturnTo })
export const StartBody = closed({ return_to: ReturnTo, reauthenticate: Reauthenticate })

export const Started = closed({
  redirect: Type.String({
    description: 'Address of the provider, to which the browser goes.',
    examples: ['https://login.example.com/authorize?client_id=sluice']
  })
})

const Answer = Type.Unknown({ description: 'Of the provider.' })

/** Open: providers add further parameters, and a wrong one must lead to the sign-in page. */
export const CallbackQuery = Type.Unsafe<Readonly<Record<string, unknown>>>({
  properties: { code: Answer, state: Answer, iss: Answer, error: Answer }
})

export const FinishBody = closed({
  answer: Type.String({
    maxLength: 8192,
    description: 'The parameters of the answer of the provider, as a query.',
    examples: ['code=EXAMPLE-code&state=EXAMPLE-state']
  })
})

export const Finished = closed({
  return_to: Type.String({
    description: 'Address to go to.',
    examples: ['https://sluice.example.com/rules']
  })
})

export const LogoutBody = closed({
  logout_token: Type.String({ description: 'Of the provider.', examples: ['EXAMPLE.of-a-logout.token'] })
})

export const LinkBody = closed({ return_to: ReturnTo })

const Sub = {
  maxLength: 255,
  description: 'The claim `sub` of the user at the provider: 1 to 255 characters of ASCII.',
  examples: ['248289761001']
}
const IdentityId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NK'] })

export const UserParams = closed({ user_id: UserId })
export const IdentityParams = closed({ user_id: UserId, identity_id: IdentityId })

export const IdentityBody = closed({
  provider: Name,
  sub: Type.String({ ...Sub, pattern: '^[ -~]+$' })
})
export type IdentityBody = Static<typeof IdentityBody>

export const IdentityRow = closed(
  {
    identity_id: IdentityId,
    provider: Name,
    issuer: Type.String({ description: 'Issuer of the provider.', examples: ['https://login.example.com'] }),
    sub: Type.String(Sub),
    created_at: timeOf('When the identity was added.'),
    last_used_at: orNull(timeOf('When it last signed in.'))
  },
  { $id: 'Identity' }
)
export type IdentityRow = Static<typeof IdentityRow>
