import { Route, Switch } from 'wouter'
import { Detail } from './detail/RuleDetail.tsx'
import { EditRule } from './form/EditRule.tsx'
import { NewRule } from './form/NewRule.tsx'
import { List } from './RuleList.tsx'

export default function Rules() {
  return (
    <Switch>
      <Route path="/rules/new">
        <NewRule />
      </Route>
      <Route path="/rules/:id/edit">{({ id }) => <EditRule key={id} id={id} />}</Route>
      <Route path="/rules/:id">{({ id }) => <Detail key={id} id={id} />}</Route>
      <Route>
        <List />
      </Route>
    </Switch>
  )
}
