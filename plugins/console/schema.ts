import { type Static, Type } from 'typebox'
import { closed, orNull } from '../../kernel/http/schema.ts'

export const Seen = closed({
  last: Type.Integer({
    description: 'Another number after each change that the caller may see: of a record, a rule, an edge.',
    examples: [1767225600001]
  }),
  pages: orNull(
    Type.String({
      description: 'Which pages of the console the server has; null: none are built.',
      examples: ['9f86d081884c7d65']
    })
  )
})

export const PartRow = closed(
  {
    plugin: Type.String({ description: 'The plugin that brings it.', examples: ['acme-idle'] }),
    on: Type.Union(
      [Type.Literal('page'), Type.Literal('overview'), Type.Literal('rule'), Type.Literal('edge')],
      { description: 'A page of its own, or a card on one.', examples: ['page'] }
    ),
    name: orNull(
      Type.String({ description: 'Of a page: it is at /pages/NAME.', examples: ['idle-connections'] })
    ),
    icon: orNull(
      Type.String({
        description: 'Path of an SVG of 24 by 24, drawn as a line.',
        examples: ['M4 12h16']
      })
    ),
    title: closed(
      {
        en: Type.String({ description: 'In English.', examples: ['Idle connections'] }),
        de: Type.String({ description: 'In German.', examples: ['Ruhende Verbindungen'] })
      },
      { description: 'What the navigation and the head of the card say.' }
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
