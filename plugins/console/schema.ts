import { type Static, Type } from 'typebox'
import { closed, orNull } from '../../kernel/http/schema.ts'

export const ChangeNumber = closed({
  last: Type.Integer({
    description:
      'Differs after each change the user may see: of a record, a rule or a client. Only compare it.',
    examples: [81985529216486]
  }),
  pages: orNull(
    Type.String({
      description: 'Version of the console pages; null if they are not built.',
      examples: ['9f86d081884c7d65']
    })
  )
})

export const PartRow = closed(
  {
    plugin: Type.String({ description: 'The plugin that adds it.', examples: ['acme-idle'] }),
    on: Type.Union(
      [Type.Literal('page'), Type.Literal('overview'), Type.Literal('rule'), Type.Literal('client')],
      { description: 'A page, or the page that shows the card.', examples: ['page'] }
    ),
    name: orNull(
      Type.String({
        description: 'Name of the page, at /pages/NAME; null for a card.',
        examples: ['idle-connections']
      })
    ),
    icon: orNull(
      Type.String({
        description: 'SVG path data of a 24x24 line icon; null for a card or the default icon.',
        examples: ['M4 12h16']
      })
    ),
    title: closed(
      {
        en: Type.String({ description: 'In English.', examples: ['Idle connections'] }),
        de: Type.String({ description: 'In German.', examples: ['Ruhende Verbindungen'] })
      },
      { description: 'Title in the navigation or on the card.' }
    ),
    element: Type.String({
      description: 'The custom element that the module defines.',
      examples: ['acme-idle-page']
    }),
    module: Type.String({
      description: 'Path of its script.',
      examples: ['/v1/console/modules/acme-idle-9f86d081884c7d65.js']
    })
  },
  { $id: 'ConsolePart' }
)
export type PartRow = Static<typeof PartRow>

export const StepRow = closed(
  {
    step: Type.String({ description: 'The step of the sign-in.', examples: ['totp'] }),
    plugin: Type.String({ description: 'The plugin that adds it.', examples: ['acme-totp'] }),
    element: Type.String({ description: 'The custom element of its form.', examples: ['acme-totp-form'] }),
    module: Type.String({
      description: 'Path of its script.',
      examples: ['/v1/console/modules/acme-totp-9f86d081884c7d65.js']
    })
  },
  { $id: 'ConsoleStep' }
)
export type StepRow = Static<typeof StepRow>
