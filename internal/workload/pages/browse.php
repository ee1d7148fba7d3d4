<?php
// The items of a category that end first, twenty on a page.
require 'page.php';
$shop = shop();
$category = rows($shop, 'select name from categories where id = ?', [asked($_GET, 'category')])[0];
$items = rows($shop, 'select id, name, price, bids, ends from items where category = ? order by ends limit 20 offset ?',
    [asked($_GET, 'category'), 20 * asked($_GET, 'page')]);
page($category['name'], table($items));
