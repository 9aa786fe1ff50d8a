import { NativeSelect, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, type Row, rows } from '../../api/call.ts'
import { linkAt, type Provider, useWaysToSignIn } from '../../api/providers.ts'
import { ProviderButtons } from '../../app/forms/ProviderButtons.tsx'
import { ConfirmButton } from '../../parts/dialog/ConfirmButton.tsx'
import { Form } from '../../parts/form/Form.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { SectionWithForm } from '../../parts/page/SectionWithForm.tsx'
import { actionsColumn, longTextColumn, timeColumn } from '../../parts/table/columns.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'

type Identity = Row<'GET /v1/users/{user_id}/identities'>

const columns: readonly Column<Identity>[] = [
  { id: 'provider', title: text.identities.provider, value: ({ provider }) => provider },
  longTextColumn('sub', text.identities.sub, ({ sub }) => sub, { width: 12 }),
  timeColumn('created_at', text.identities.added, { format: 'ago', width: 8 }),
  timeColumn('last_used_at', text.identities.used, { format: 'ago', width: 8 })
]

interface Props {
  readonly user: string
  readonly isSelf: boolean
  readonly mayChange: boolean
}

/** Identities with which the user signs in at providers. */
export function Identities({ user, isSelf, mayChange }: Props) {
  const { providers } = useWaysToSignIn()
  const identities = useQuery({
    queryKey: ['identities', user],
    queryFn: () => rows('GET /v1/users/{user_id}/identities', { path: { user_id: user } }),
    retry: false,
    meta: { shown: true }
  })
  if (providers.length === 0 && !identities.data?.length) return null // nobody uses providers here
  return (
    <SectionWithForm
      title={text.identities.title}
      note={isSelf ? text.identities.ownNote : text.identities.note}
      addLabel={text.identities.add}
      mayAdd={mayChange && providers.length > 0}
      form={close =>
        isSelf ? (
          <ProviderButtons providers={providers} start={linkAt} />
        ) : (
          <AddIdentity user={user} providers={providers} onDone={close} />
        )
      }
    >
      <QueryTable
        query={identities}
        name="identities"
        what={text.identities.what}
        columns={mayChange ? [...columns, actionsColumn(removeButton(user), 6)] : columns}
        idOf={({ identity_id }) => identity_id}
        empty={text.identities.empty}
      />
    </SectionWithForm>
  )
}

const removeButton = (user: string) => (identity: Identity) => (
  <ConfirmButton
    button={{ size: 'compact-xs' }}
    title={text.identities.removeTitle(identity.provider)}
    action={text.identities.remove}
    run={() =>
      call('DELETE /v1/users/{user_id}/identities/{identity_id}', {
        path: { user_id: user, identity_id: identity.identity_id }
      })
    }
    notice={text.identities.removed}
  >
    <Text>{text.identities.removeText}</Text>
  </ConfirmButton>
)

interface AddProps {
  readonly user: string
  readonly providers: readonly Provider[]
  readonly onDone: () => void
}

function AddIdentity({ user, providers, onDone }: AddProps) {
  const { input, form } = useForm({
    initial: { provider: providers[0]?.name ?? '', sub: '' },
    fields: {
      provider: { label: text.identities.provider },
      sub: { label: text.identities.sub, description: text.identities.subHint }
    },
    save: body => call('POST /v1/users/{user_id}/identities', { path: { user_id: user }, body }),
    notice: () => text.identities.addedNotice,
    onDone
  })
  return (
    <Form {...form} submitLabel={text.identities.add}>
      <NativeSelect
        {...input('provider')}
        data={providers.map(({ name, title }) => ({ value: name, label: title }))}
      />
      <TextInput {...input('sub')} required data-autofocus spellCheck={false} />
    </Form>
  )
}
