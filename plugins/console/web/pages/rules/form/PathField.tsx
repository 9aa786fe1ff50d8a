import { NativeSelect } from '@mantine/core'
import { text } from '../../../text/text.ts'
import type { Client } from '../../clients/queries.ts'
import type { Path } from '../../links/paths.ts'

interface Option {
  readonly value: string
  readonly label: string
}

interface Props {
  readonly name: string
  readonly label: string
  readonly description?: string
  readonly path: Path
  readonly clients: readonly Client[]
  readonly offers: readonly Client[] // clients that the path may have
  readonly inherit?: Option & { readonly isChosen: boolean } // an option besides `path`
  readonly error: string | null
  /** Null: the inherited path. */
  readonly onChange: (path: Path | null) => void
}

const maxPath = 3

/** The clients after the entry, one select for each. Each choice offers one more. */
export function PathField({
  name,
  label,
  description,
  path,
  clients,
  offers,
  inherit,
  error,
  onChange
}: Props) {
  const shown = Math.min(maxPath, path.length + 1)
  const optionsAt = (i: number): readonly Option[] => {
    const own = path[i]
    const ids = offers.map(({ client_id }) => client_id)
    const free = (own === undefined || ids.includes(own) ? ids : [own, ...ids]).filter(
      id => id === own || !path.includes(id)
    )
    return [
      ...(i === 0 && inherit ? [inherit] : []),
      { value: '', label: i === 0 ? text.links.directly : text.ruleForm.none },
      ...free.map(id => ({
        value: id,
        label: labelOf(
          clients.find(({ client_id }) => client_id === id),
          id
        )
      }))
    ]
  }
  const choose = (i: number, id: string): void => {
    if (id === inherit?.value) onChange(null)
    else onChange(id === '' ? path.slice(0, i) : [...path.slice(0, i), id, ...path.slice(i + 1)])
  }
  return (
    <div className="ports">
      {Array.from({ length: shown }, (_, i) => i)
        .filter(i => i === 0 || i < path.length || optionsAt(i).length > 1)
        .map(i => (
          <NativeSelect
            key={i}
            name={i === 0 ? name : `${name}.${i}`}
            label={i === 0 ? label : text.links.thenThrough(String(i + 1))}
            description={i === 0 ? description : undefined}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            data={[...optionsAt(i)]}
            value={i === 0 && inherit?.isChosen ? inherit.value : (path[i] ?? '')}
            onChange={event => choose(i, event.currentTarget.value)}
            error={i === 0 && error}
          />
        ))}
    </div>
  )
}

const labelOf = (client: Client | undefined, id: string): string => {
  if (client === undefined) return id
  return client.connected ? client.client_name : text.ruleForm.offline(client.client_name)
}
