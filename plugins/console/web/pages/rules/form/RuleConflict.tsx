import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../../api/call.ts'
import { Loaded } from '../../../parts/QueryResult.tsx'
import { titleOf } from '../../../parts/schema-form/schema.ts'
import { isSame, type Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Rule } from '../queries.ts'
import { changesOf, valuesOf } from './rule-values.ts'

interface Props {
  readonly before: Values
  readonly path: { readonly rule_id: string }
  readonly changes: Values // mine
  readonly isBusy: boolean
  readonly onSend: (changes: Values, etag: string) => void
  readonly onTheirs: (rule: Rule) => void
}

/** Somebody else has changed the rule meanwhile: shows both versions, and lets the user choose. */
export function Overtaken({ path, ...props }: Props) {
  const theirs = useQuery({
    queryKey: ['rule', path.rule_id, 'overtaken'],
    queryFn: () => call('GET /v1/rules/{rule_id}', { path }),
    staleTime: 0
  })
  return (
    <Alert color="orange" variant="default" role="alert" title={text.ruleForm.overtaken} mb="lg">
      <Loaded query={theirs}>{rule => <Choice {...props} theirs={rule} />}</Loaded>
    </Alert>
  )
}

function Choice({
  before,
  changes,
  theirs,
  isBusy,
  onSend,
  onTheirs
}: Omit<Props, 'path'> & { readonly theirs: Rule }) {
  const now = valuesOf(theirs)
  const changed = changesOf(before, now)
  const keys = [...new Set([...Object.keys(changed), ...Object.keys(changes)])]
  const [given, setGiven] = useState<ReadonlySet<string>>(new Set())
  const mine = Object.fromEntries(Object.entries(changes).filter(([key]) => !given.has(key)))
  return (
    <Stack gap="sm">
      <Text size="sm">{text.ruleForm.overtakenHint}</Text>
      <div className="versions">
        <table>
          <thead>
            <tr>
              <th scope="col">{text.ruleForm.field}</th>
              <th scope="col">{text.ruleForm.before}</th>
              <th scope="col">{text.ruleForm.theirs}</th>
              <th scope="col">{text.ruleForm.mine}</th>
            </tr>
          </thead>
          <tbody>
            {keys.map(key => (
              <Version
                key={key}
                name={text.fields[key] ?? titleOf(key, {})}
                before={before[key]}
                theirs={now[key]}
                mine={key in changes ? { value: changes[key] } : null}
                isTheirs={given.has(key)}
                onChoose={isTheirs => {
                  const next = new Set(given)
                  isTheirs ? next.add(key) : next.delete(key)
                  setGiven(next)
                }}
              />
            ))}
          </tbody>
        </table>
      </div>
      <Group>
        <Button
          loading={isBusy}
          disabled={Object.keys(mine).length === 0}
          onClick={() => onSend(mine, theirs.etag)}
        >
          {text.ruleForm.saveMine}
        </Button>
        <Button variant="default" onClick={() => onTheirs(theirs)}>
          {text.ruleForm.takeTheirs}
        </Button>
      </Group>
    </Stack>
  )
}

interface VersionProps {
  readonly name: string
  readonly before: unknown
  readonly theirs: unknown
  readonly mine: { readonly value: unknown } | null // null: I have not changed it
  readonly isTheirs: boolean
  readonly onChoose: (isTheirs: boolean) => void
}

/** One field. Where both have changed it, one of both is chosen; what only they have changed stays theirs. */
function Version({ name, before, theirs, mine, isTheirs, onChoose }: VersionProps) {
  const isBoth = mine !== null && !isSame(before, theirs)
  const choice = (of: boolean, value: unknown) =>
    isBoth ? (
      <label>
        <input
          type="radio"
          name={`version-${name}`}
          checked={isTheirs === of}
          onChange={() => onChoose(of)}
        />{' '}
        {shown(value)}
      </label>
    ) : (
      shown(value)
    )
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{shown(before)}</td>
      <td>{choice(true, theirs)}</td>
      <td>{mine === null ? '–' : choice(false, mine.value)}</td>
    </tr>
  )
}

const shown = (value: unknown): string => {
  if (value === undefined || value === null) return text.ruleForm.none
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
